"""Long runs on the real engines. `bench` asks all questions of speed and cost at a small size; each
other file or package has one question of its own, and fails if something is wrong."""
