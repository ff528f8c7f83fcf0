import { personRequired } from '../http/errors.ts'
import type { Caller } from './authenticate.ts'

/** Checks that a caller is a person. 403 `person_required` if its key acts as an agent or a pipeline. */
export function requirePerson({ actsAs }: Pick<Caller, 'actsAs'>): void {
  if (actsAs !== 'person') throw personRequired(actsAs)
}
