import type { InferOutput } from 'valibot'
import type { Session as SessionSchema } from '../../manage/session.ts'
import type { ListedTrace as ListedTraceSchema } from '../../read/wire.ts'
import type { Plain } from '../wire.ts'

/* Responses that only the command line reads. */

/** Who a key acts for, and what it may do. */
export type Session = Plain<InferOutput<typeof SessionSchema>>

/** A trace in a list, with what the app's table shows. */
export type ListedTrace = Plain<InferOutput<typeof ListedTraceSchema>>
