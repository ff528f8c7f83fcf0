import { PROMPTS } from './kinds.ts'
import { TextsPage } from './texts-page.tsx'

export const Page = () => <TextsPage kind={PROMPTS} />
