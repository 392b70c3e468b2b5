"""One row for each question about speed and cost, with what it is measured against and its goal."""
