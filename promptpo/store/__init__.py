"""What a run leaves behind: its events, its folder, the policy that it found."""
