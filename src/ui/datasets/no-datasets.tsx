import { Group, List, Text } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { NewDataset } from './new-dataset.tsx'

/** Shown before a project's first review: how a correction becomes a proven fix. */
export const NoDatasets = ({ project }: { project: string }) => (
  <Empty title="No datasets yet">
    <Text size="sm" inherit mb="xs">
      Reviews create datasets. With a dataset, you can prove that a new version is better before you use it:
    </Text>
    <List type="ordered" size="sm" spacing={6} mb="md">
      <List.Item>
        <TextLink href={pathWith('/review', { project })} underline="always">
          Review outputs
        </TextLink>
        : accept or correct them.
      </List.Item>
      <List.Item>Each reviewed output automatically becomes an item of its step's dataset.</List.Item>
      <List.Item>Run an experiment: a new version of the step runs on the same inputs.</List.Item>
      <List.Item>
        Set a gate, so that a version can become active only if it does well enough in an experiment.
      </List.Item>
      <List.Item>Activate the new version.</List.Item>
    </List>
    <Text size="sm" inherit mb="xs">
      If a step has no reviews yet, you can import examples instead:
    </Text>
    <Group>
      <NewDataset project={project} />
    </Group>
  </Empty>
)
