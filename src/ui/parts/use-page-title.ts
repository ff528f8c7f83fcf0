import { useDocumentTitle } from '@mantine/hooks'

/** Names the browser's tab after what a page shows, so that several tabs can be told apart. */
export const usePageTitle = (shown: string): void => useDocumentTitle(`${shown} · Countersign`)
