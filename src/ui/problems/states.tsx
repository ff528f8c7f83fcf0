import type { Problem } from '../api/wire.ts'
import { IconBan, IconCheck, IconCircleDashed, IconFlask, IconShieldCheck, IconTool } from '../icons/index.ts'
import { Mark } from '../parts/mark.tsx'

export type ProblemState = Problem['state']

/** The states, in the order in which a problem goes through them. */
export const STATES = ['open', 'fixing', 'proven', 'live', 'verified', 'dismissed'] as const satisfies ProblemState[]

const MARKS = {
  open: { label: 'Open', Icon: IconCircleDashed, tone: 'bad' },
  fixing: { label: 'Fixing', Icon: IconTool, tone: 'open' },
  proven: { label: 'Proven', Icon: IconFlask, tone: 'open' },
  live: { label: 'Live', Icon: IconCheck, tone: 'good' },
  verified: { label: 'Verified', Icon: IconShieldCheck, tone: 'good' },
  dismissed: { label: 'Dismissed', Icon: IconBan, tone: 'quiet' },
} as const

/** Which problems are in a state. */
export const MEANINGS: Readonly<Record<ProblemState, string>> = {
  open: 'Problems that nobody has linked a fix to yet.',
  fixing: 'Problems with a linked version that no experiment has proven to be a fix.',
  proven: 'Problems that a linked version fixes, according to an experiment. Activate that version.',
  live: 'Problems whose fix is active. New decisions will show whether it holds.',
  verified: 'Problems whose fix holds, according to decisions on the new version.',
  dismissed: "Problems that aren't worth fixing, each with a reason.",
}

/** Says that no problem is in a state. */
export const NONE_IN: Readonly<Record<ProblemState, string>> = {
  open: 'No problems are open',
  fixing: 'No problems are being fixed',
  proven: 'No problems have a proven fix',
  live: 'No problems have a live fix',
  verified: 'No problems have a verified fix',
  dismissed: 'No problems have been dismissed',
}

export const stateName = (state: ProblemState): string => MARKS[state].label

/** A problem's state. */
export const StateMark = ({ state }: { state: ProblemState }) => <Mark {...MARKS[state]} />

export const isState = (text: string | null): text is ProblemState => STATES.some(state => state === text)
