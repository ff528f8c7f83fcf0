import { useMediaQuery } from '@mantine/hooks'

/** Whether a trace fits on one line. The styles use the same breakpoint. */
export const useWideRows = (): boolean =>
  useMediaQuery('(min-width: 75em)', undefined, { getInitialValueInEffect: false }) ?? true
