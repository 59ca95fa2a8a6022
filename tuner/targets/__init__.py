"""What a user brings: the folder of an app, a compose file, a space of options."""
