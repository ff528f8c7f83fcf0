import { usePageTitle } from '../parts/use-page-title.ts'
import { QueuePage } from './queue-page.tsx'

/** The review page. */
export const Page = () => {
  usePageTitle('Review')
  return <QueuePage kind="review" />
}
