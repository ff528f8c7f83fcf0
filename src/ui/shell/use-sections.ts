import { useIsAdjudicator, useMayCompare } from '../api/session.ts'
import { type Section, sectionsFor } from './navigation.ts'

/** The sections of the signed-in user. */
export const useSections = (): readonly Section[] =>
  sectionsFor({ isAdjudicator: useIsAdjudicator(), mayCompare: useMayCompare() === true })
