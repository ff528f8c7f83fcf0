import { useQuery } from '@tanstack/react-query'
import { pathWith } from '../api/client.ts'
import type { Span } from '../api/wire.ts'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { promptOfStepQuery } from './queries.ts'

/** Links to the prompt that a span used, and to other traces with the same version. */
export function PromptLink({ span, versionId }: { span: Pick<Span, 'stepId'>; versionId: string }) {
  const project = useProject()
  const { data: prompt } = useQuery(promptOfStepQuery(project, span.stepId))
  return (
    <>
      {prompt ? (
        <TextLink href={pathWith(`/prompts/${prompt.id}`, { project, version: versionId })}>
          Prompt{prompt.versionId === versionId ? '' : ' (different version)'}
        </TextLink>
      ) : (
        <span title={versionId}>Prompt version {versionId.slice(0, 8)}</span>
      )}
      <TextLink href={pathWith('/traces', { project, promptVersionId: versionId })}>Traces with this version</TextLink>
    </>
  )
}
