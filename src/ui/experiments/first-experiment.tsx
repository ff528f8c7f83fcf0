import { List } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { TextLink } from '../parts/text-link.tsx'

/** Shown in a project that has no experiments: how a review leads to a proven fix. */
export const FirstExperiment = ({ project }: { project: string | undefined }) => (
  <Empty title="No experiments yet">
    An experiment tests a prompt version or a code change on reviewed inputs, and shows what it fixes and what it
    breaks.
    <List type="ordered" size="sm" spacing={4} mt="sm">
      <List.Item>
        <TextLink href={pathWith('/review', { project })} underline="always">
          Review outputs
        </TextLink>
        . Each decision adds an item to its step's{' '}
        <TextLink href={pathWith('/datasets', { project })} underline="always">
          dataset
        </TextLink>
        .
      </List.Item>
      <List.Item>
        <TextLink href={pathWith('/prompts', { project })} underline="always">
          Write a new version
        </TextLink>{' '}
        of the step's prompt, without activating it.
      </List.Item>
      <List.Item>
        <TextLink href={pathWith('/experiments/new', { project })} underline="always">
          Start an experiment
        </TextLink>{' '}
        and run the command that it shows. Your own code runs the step on each item.
      </List.Item>
      <List.Item>
        Decide on outputs that differ only in free text. The report shows what's fixed and what regressed.
      </List.Item>
      <List.Item>
        Activate the version. If the step has a gate, the version has to do well enough in an experiment first.
      </List.Item>
    </List>
  </Empty>
)
