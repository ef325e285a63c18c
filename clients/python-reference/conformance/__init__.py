"""What a server must do for any client, checked through the reference client against a server that runs."""
