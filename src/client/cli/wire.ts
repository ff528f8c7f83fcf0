import type { InferOutput } from 'valibot'
import type { Dataset as DatasetSchema } from '../../datasets/wire.ts'
import type { GateState as GateStateSchema } from '../../experiments/gate-state.ts'
import type { ExperimentItem as ExperimentItemSchema } from '../../experiments/wire.ts'
import type { Session as SessionSchema } from '../../manage/session.ts'
import type { PromptDetail as PromptDetailSchema } from '../../read/text-wire.ts'
import type { ListedTrace as ListedTraceSchema } from '../../read/wire.ts'
import type { Plain } from '../wire.ts'

/* Responses that only the CLI reads. */

/** Who a key acts for, and what it may do. */
export type Session = Plain<InferOutput<typeof SessionSchema>>

/** A trace in a list, with what the app's table shows. */
export type ListedTrace = Plain<InferOutput<typeof ListedTraceSchema>>

/** A prompt with all its versions. */
export type PromptDetail = Plain<InferOutput<typeof PromptDetailSchema>>

/** Whether a version meets its step's gate. */
export type GateState = Plain<InferOutput<typeof GateStateSchema>>

/** A step's dataset. */
export type Dataset = Plain<InferOutput<typeof DatasetSchema>>

/** An item of an experiment, with its result. */
export type ExperimentItem = Plain<InferOutput<typeof ExperimentItemSchema>>
