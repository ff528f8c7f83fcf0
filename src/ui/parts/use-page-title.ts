import { useDocumentTitle } from '@mantine/hooks'

/** Sets the tab's title. */
export const usePageTitle = (shown: string): void => useDocumentTitle(`${shown} · Countersign`)
