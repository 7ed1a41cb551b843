"""Questions of material properties and environmental effects that a video model writes, and what is checked of them."""
