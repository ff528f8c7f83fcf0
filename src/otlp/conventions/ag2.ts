import type { Convention } from '../reading/convention.ts'

/** AG2's own attributes. It sends the usage of each model call a second time, in a span without content. */
export const ag2: Convention = {
  name: 'ag2',
  read: span => (span.peek('ag2.span.type') === 'usage' ? { kind: 'generic' } : undefined),
}
