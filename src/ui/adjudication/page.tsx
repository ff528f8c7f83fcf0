import { usePageTitle } from '../parts/use-page-title.ts'
import { QueuePage } from '../review/queue-page.tsx'

/** The outputs on which reviewers disagree, for adjudicators. */
export const Page = () => {
  usePageTitle('Adjudication')
  return <QueuePage kind="disputes" />
}
