import { KNOWLEDGE_DOCS } from './kinds.ts'
import { TextsPage } from './texts-page.tsx'

export const Page = () => <TextsPage kind={KNOWLEDGE_DOCS} />
