import { Text } from '@mantine/core'
import type { Problem } from '../api/wire.ts'
import { useMay } from '../parts/scopes.tsx'
import { ActivateVersion } from '../texts/activate-version.tsx'
import { PROMPTS, type VersionedText } from '../texts/kinds.ts'
import { standingOf } from './next-step.ts'
import { Stage } from './stage.tsx'
import { refreshProblems } from './writes.tsx'

interface ActivationStageProps {
  problem: Problem
  prompt: VersionedText | undefined
}

/** Makes the proven version the active one. */
export function ActivationStage({ problem: { state, candidate }, prompt }: ActivationStageProps) {
  const mayManage = useMay('manage')
  const standing = standingOf('activation', state)
  const version = prompt?.versions.find(({ id }) => id === candidate?.versionId)
  return (
    <Stage title="Activation" standing={standing}>
      <Text size="sm" {...(standing === 'later' && { c: 'dimmed' })}>
        {standing === 'done' && candidate
          ? `Version ${candidate.number} is active.`
          : standing === 'current'
            ? 'Pipelines get the new version the next time they request the prompt.'
            : 'A proven version can become active.'}
      </Text>
      {standing === 'current' && mayManage && prompt && version && !version.isActive && (
        <div>
          <ActivateVersion kind={PROMPTS} text={prompt} version={version} isProminent onDone={refreshProblems} />
        </div>
      )}
      {standing === 'current' && mayManage === false && (
        <Text size="sm">Someone with the “manage” scope can activate it.</Text>
      )}
    </Stage>
  )
}
