import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { LateSelect } from '../parts/late-select.tsx'
import { Moment } from '../parts/moment.tsx'
import { useMay } from '../parts/scopes.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import type { VersionedText } from '../texts/kinds.ts'
import { standingOf } from './next-step.ts'
import { Stage } from './stage.tsx'
import { SuggestVersion } from './suggest-version.tsx'
import { changeProblem, offerUndo, refreshProblems } from './writes.tsx'

interface FixStageProps {
  problem: Problem
  project: string
  /** The step's prompt. Undefined while loading, or if there is none. */
  prompt: VersionedText | undefined
  hasNoPrompt: boolean
}

/** The prompt version that should fix the problem. */
export function FixStage({ problem, project, prompt, hasNoPrompt }: FixStageProps) {
  const { id, candidate, state } = problem
  const mayManage = useMay('manage')
  const [isChoosing, setChoosing] = useState(false)
  const before = candidate?.versionId ?? null
  const { submit, isPending } = useSubmission({
    send: (candidateVersionId: string | null) => changeProblem(id, { candidateVersionId }),
    onDone: (_, versionId) => {
      setChoosing(false)
      const message = versionId === null ? 'The version is no longer linked.' : 'Version linked.'
      offerUndo(message, () => changeProblem(id, { candidateVersionId: before }))
    },
    onFault: ({ message }) => notifications.show({ color: 'red', title: "Couldn't link the version", message }),
  })
  const standing = standingOf('fix', state)
  const isNext = standing === 'current'
  const isOver = state === 'verified' || state === 'dismissed'
  return (
    <Stage title="Fix" standing={standing}>
      {candidate ? (
        <Linked candidate={candidate} project={project} />
      ) : (
        <Text size="sm" c="dimmed">
          {hasNoPrompt
            ? "This step has no prompt, so no version can be linked. Fix the problem in the pipeline's code or in a knowledge doc, or create a prompt."
            : 'Link a new version of the prompt to this problem.'}
        </Text>
      )}
      {mayManage === false && isNext && <Text size="sm">Someone with the “manage” scope can link a version.</Text>}
      {mayManage && hasNoPrompt && !isOver && (
        <Group gap={6}>
          <Button component={Link} href={pathWith('/prompts', { project, new: 1 })} size="compact-xs" variant="default">
            New prompt
          </Button>
        </Group>
      )}
      {mayManage && prompt && !isOver && !isChoosing && (
        <Group gap={6}>
          <Button
            component={Link}
            href={pathWith(`/prompts/${prompt.id}`, { project, new: 1, problem: id })}
            size={isNext ? 'compact-sm' : 'compact-xs'}
            variant={isNext ? 'filled' : 'default'}
          >
            {candidate ? 'Write another version' : 'Write a new version'}
          </Button>
          {prompt.versions.length > 1 && (
            <Button size={isNext ? 'compact-sm' : 'compact-xs'} variant="default" onClick={() => setChoosing(true)}>
              Link a version
            </Button>
          )}
          {candidate && (
            <Button size="compact-xs" variant="subtle" loading={isPending} onClick={() => submit(null)}>
              Unlink
            </Button>
          )}
        </Group>
      )}
      {mayManage && prompt && !isOver && !isChoosing && <SuggestVersion problemId={id} onAdded={refreshProblems} />}
      {isChoosing && prompt && (
        <ChooseVersion prompt={prompt} linked={before} onChoose={submit} onCancel={() => setChoosing(false)} />
      )}
    </Stage>
  )
}

const Linked = ({ candidate, project }: { candidate: NonNullable<Problem['candidate']>; project: string }) => (
  <Text size="sm" component="div">
    <TextLink
      href={pathWith(`/prompts/${candidate.promptId}`, { project, version: candidate.versionId })}
      underline="always"
    >
      Version {candidate.number}
    </TextLink>
    {candidate.note !== null && (
      <span dir="auto">
        : <ShownText text={candidate.note} />
      </span>
    )}
    <Text size="xs" c="dimmed">
      Linked <Moment at={candidate.at} />
    </Text>
  </Text>
)

interface ChooseVersionProps {
  prompt: VersionedText
  linked: string | null
  onChoose: (versionId: string) => void
  onCancel: () => void
}

/** Lists the prompt's versions. */
const ChooseVersion = ({ prompt, linked, onChoose, onCancel }: ChooseVersionProps) => (
  <Group gap={6} align="end">
    <LateSelect
      label="Version"
      size="xs"
      flex={1}
      placeholder="Choose a version"
      data={prompt.versions.map(({ id, number, note, isActive }) => ({
        value: id,
        label: `Version ${number}${isActive ? ' (active)' : ''}${note ? `: ${note}` : ''}`,
        disabled: id === linked,
      }))}
      value={null}
      onChange={id => id !== null && onChoose(id)}
    />
    <Button size="xs" variant="default" onClick={onCancel}>
      Cancel
    </Button>
  </Group>
)
