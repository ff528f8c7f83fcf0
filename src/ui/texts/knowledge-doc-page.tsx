import { useParams } from 'wouter'
import { KNOWLEDGE_DOCS } from './kinds.ts'
import { TextPage } from './text-page.tsx'

export function Page() {
  const { docId = '' } = useParams<{ docId: string }>()
  return <TextPage key={docId} kind={KNOWLEDGE_DOCS} id={docId} />
}
