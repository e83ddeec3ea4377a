"""Maps for screen and paper: colours, paintings, decks, scenes of linked maps, printed maps."""
