import { useParams } from 'wouter'
import { PROMPTS } from './kinds.ts'
import { TextPage } from './text-page.tsx'

export function Page() {
  const { promptId = '' } = useParams<{ promptId: string }>()
  return <TextPage key={promptId} kind={PROMPTS} id={promptId} />
}
