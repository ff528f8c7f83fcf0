import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Span } from '../api/wire.ts'
import { useProject } from '../session/project.ts'
import { promptOfStepQuery } from './queries.ts'

/** Links to the prompt that a span used, and to other traces with the same version. */
export function PromptLink({ span, versionId }: { span: Span; versionId: string }) {
  const project = useProject()
  const { data: prompt } = useQuery(promptOfStepQuery(project, span.stepId))
  const query = new URLSearchParams({ ...(project !== undefined && { project }), promptVersionId: versionId })
  return (
    <>
      {prompt ? (
        <Anchor
          component={Link}
          inherit
          href={`/prompts/${prompt.id}?${new URLSearchParams({ ...(project !== undefined && { project }), version: versionId })}`}
        >
          Prompt{prompt.versionId === versionId ? '' : ' (another version)'}
        </Anchor>
      ) : (
        <span title={versionId}>Prompt version {versionId.slice(0, 8)}</span>
      )}
      <Anchor component={Link} inherit href={`/traces?${query}`}>
        Traces with this version
      </Anchor>
    </>
  )
}
