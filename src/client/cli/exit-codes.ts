/** The ways in which a command can end. docs/cli.md lists them. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'It worked.' },
  no: {
    code: 1,
    meaning: "It worked, and the answer is no: the gate isn't met, or `prompts diff` found a difference.",
  },
  usage: { code: 2, meaning: 'The command, an option, a file, or a value is invalid.' },
  denied: { code: 3, meaning: "The key is missing, invalid, or doesn't have the scope that the call needs." },
  missing: { code: 4, meaning: "A trace, step, version, or something else that you named doesn't exist." },
  unavailable: { code: 5, meaning: "The service can't be reached, is overloaded, or needs more time. Try again." },
  conflict: { code: 6, meaning: 'Somebody else got there first, or local edits would be lost.' },
  incomplete: { code: 7, meaning: 'Only part of it worked: a file was cut off, or rows were rejected.' },
  internal: { code: 70, meaning: 'A bug in this program.' },
  interrupted: { code: 130, meaning: 'You pressed Ctrl-C, or the process got a SIGINT.' },
  closed: { code: 141, meaning: 'The program that reads the output closed it, as `head` does.' },
  terminated: { code: 143, meaning: 'The process got a SIGTERM.' },
} as const

export type Ending = keyof typeof EXIT_CODES
