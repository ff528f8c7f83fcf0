import type { Json } from '../../domain/json.ts'
import { MAX_STATE_KEY_LENGTH } from '../../limits.ts'
import { idOf } from './attribute-values.ts'
import type { Convention } from './convention.ts'
import { parsed } from './messages.ts'

const STATE = 'countersign.state.'

/** Our own attributes, for what no convention has a word for. */
export const countersign: Convention = {
  name: 'countersign',
  read(span) {
    if (!span.hasBelow('countersign.')) return undefined
    const stepId = idOf(span.get('countersign.step_id'))
    const id = idOf(span.get('countersign.prompt_version_id'))
    const state: [string, Json][] = []
    for (const key of span.span.attributes.keys()) {
      const name = key.startsWith(STATE) ? key.slice(STATE.length) : ''
      // Any other key can be none of a state, and its value stays among the attributes.
      if (name === '' || name.length > MAX_STATE_KEY_LENGTH) continue
      const value = span.get(key)
      if (value !== undefined) state.push([name, parsed(value)])
    }
    return {
      ...(stepId !== undefined && { stepId }),
      ...(id !== undefined && { prompt: { id } }),
      ...(state.length > 0 && { state: Object.fromEntries(state) }),
    }
  },
}
