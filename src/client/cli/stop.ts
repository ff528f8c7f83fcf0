/** Why a process was asked to stop. */
export class Stop extends Error {
  readonly ending: 'interrupted' | 'terminated'

  constructor(ending: 'interrupted' | 'terminated') {
    super(`The command was ${ending}`)
    this.ending = ending
  }
}
