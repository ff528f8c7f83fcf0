import type { Json } from '../../domain/json.ts'
import { MAX_STATE_KEY_LENGTH } from '../../limits.ts'
import { idOf, present, taken } from '../reading/attribute-values.ts'
import type { Convention, Reading } from '../reading/convention.ts'
import { parsed } from '../reading/serialized.ts'

const STATE = 'countersign.state.'

/** Our own attributes, for data that no convention covers. */
export const countersign: Convention = {
  name: 'countersign',
  read(span) {
    if (!span.hasBelow('countersign.')) return undefined
    const stepId = taken(span, 'countersign.step_id', idOf)
    const id = taken(span, 'countersign.prompt_version_id', idOf)
    const state: [string, Json][] = []
    for (const key of span.span.attributes.keys()) {
      const name = key.startsWith(STATE) ? key.slice(STATE.length) : ''
      // An invalid state key stays among the attributes with its value.
      if (name === '' || name.length > MAX_STATE_KEY_LENGTH) continue
      const value = span.get(key)
      if (value !== undefined) state.push([name, parsed(value)])
    }
    return present<Reading>({
      stepId,
      fallback: stepId === undefined ? undefined : { kind: 'task' },
      prompt: id === undefined ? undefined : { id },
      state: state.length > 0 ? Object.fromEntries(state) : undefined,
    })
  },
}
