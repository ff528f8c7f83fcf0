import type { Attacks } from '../attack.ts'
import { attribution } from './attribution.ts'
import { exports } from './exports.ts'
import { lists } from './lists.ts'
import { schemas } from './schemas.ts'
import { texts } from './texts.ts'
import { traces } from './traces.ts'

/** All attacks, in groups that share a database. */
export const attacks: Readonly<Record<string, Attacks>> = { attribution, schemas, texts, traces, lists, exports }
