import { useIsAdjudicator, useMayCompare } from '../api/session.ts'
import { type Section, sectionsFor } from './navigation.ts'

/** The signed-in user's sections. */
export const useSections = (): readonly Section[] =>
  sectionsFor({ isAdjudicator: useIsAdjudicator(), mayCompare: useMayCompare() === true })
