"""What can be observed in a panorama: whether its picture is fit, where it lies, how much of its objects shows."""
