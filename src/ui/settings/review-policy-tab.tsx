import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { reviewPolicyQuery } from '../api/review-policy.ts'
import { sessionQuery } from '../api/session.ts'
import { insightsQuery } from '../insights/queries.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { useRefusal } from '../parts/scopes.tsx'
import { useProject } from '../session/project.ts'
import { ReviewPolicyForm } from './review-policy-form.tsx'
import { TabBar } from './tab-bar.tsx'
import { BASIS_DAYS } from './workload.ts'

const DAY_MS = 86_400_000

/** Which of the project's outputs the queue offers, and how many people review each. */
export function ReviewPolicyTab() {
  const projectSlug = useProject()
  const { data: session } = useQuery(sessionQuery)
  const project = session?.projects.find(({ slug }) => slug === projectSlug)
  const refusal = useRefusal('manage', 'change the review policy')
  const policy = useQuery(reviewPolicyQuery(project?.id))
  const range = useMemo(lastDays, [])
  const insights = useQuery({ ...insightsQuery(projectSlug ?? '', range), enabled: projectSlug !== undefined })
  const error = policy.error ?? insights.error
  return (
    <Stack gap="md">
      <TabBar
        about={`Which outputs${project ? ` in ${project.name}` : ''} the review queue offers, and how many people review each. Changing the policy never changes a decision, and anyone can still review the other outputs.`}
      />
      {projectSlug === undefined && session && <NoProject />}
      {error && (
        <FaultAlert error={error} onRetry={() => void (policy.error ? policy.refetch() : insights.refetch())} />
      )}
      {project && policy.data && insights.data && (
        <ReviewPolicyForm
          // Resets the form when the saved policy changes.
          key={`${project.id} ${policy.data.updatedAt}`}
          projectId={project.id}
          saved={policy.data}
          insights={insights.data}
          refusal={refusal}
        />
      )}
    </Stack>
  )
}

/** The last `BASIS_DAYS` complete UTC days. */
function lastDays() {
  const to = Math.floor(Date.now() / DAY_MS) * DAY_MS
  return { from: new Date(to - BASIS_DAYS * DAY_MS).toISOString(), to: new Date(to).toISOString() }
}
