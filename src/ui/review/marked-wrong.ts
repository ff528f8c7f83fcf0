/** Why an output that's marked as wrong can't be saved unchanged, which would accept it. */
export const WRONG_UNCHANGED =
  'You marked this output as wrong. Correct it, or close the editor and choose “Not wrong” to accept it.'
