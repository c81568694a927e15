"""What people look at: tasks, and each item blind and behind glass."""
