"""Where an import of people meets a campaign: the page, the command's start, and the campaign's door."""
