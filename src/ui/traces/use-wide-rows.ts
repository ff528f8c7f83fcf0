import { useMediaQuery } from '@mantine/hooks'

/** Whether a trace has room for one line; else it takes several. The styles ask the same. */
export const useWideRows = (): boolean =>
  useMediaQuery('(min-width: 68em)', undefined, { getInitialValueInEffect: false }) ?? true
