// built later
