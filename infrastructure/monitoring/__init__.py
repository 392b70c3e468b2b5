"""What a person hears of: two topics, and the alarms that write to them."""
