import { pathWith } from '../api/client.ts'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import type { PromptVersions } from './use-prompt-versions.ts'

interface VersionLinkProps {
  /** Whether the link is in running text, where color alone isn't enough to mark it. */
  isUnderlined?: boolean
  versionId: string | null
  versions: PromptVersions
}

/** The prompt version that an experiment tries. It may have been deleted, because experiments outlive prompts. */
export function VersionLink({ versionId, versions: { isComplete, prompts }, isUnderlined = false }: VersionLinkProps) {
  const project = useProject()
  if (versionId === null) return 'No version'
  for (const prompt of prompts) {
    const version = prompt.versions.find(({ id }) => id === versionId)
    if (!version) continue
    return (
      <TextLink
        href={pathWith(`/prompts/${prompt.id}`, { project, version: versionId })}
        underline={isUnderlined ? 'always' : 'hover'}
      >
        Version {version.number}
      </TextLink>
    )
  }
  return <span title={versionId}>{isComplete ? 'Deleted version' : '…'}</span>
}
