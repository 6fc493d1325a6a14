"""The commands, a module each; what several need lies in the room around it."""
