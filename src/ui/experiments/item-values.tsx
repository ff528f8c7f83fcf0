import { Code, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { pathWith } from '../api/client.ts'
import type { ExperimentItem } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { share } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { ExpectedSelect } from './expected-select.tsx'
import { ItemValue } from './item-value.tsx'
import classes from './items.module.css'

/** An item's input, and its expected, recorded, and candidate outputs side by side. */
export function ItemValues({ item }: { item: ExperimentItem }) {
  const { input, state, expected, recordedOutput, output, outcome, traceId } = item
  const [chosen, setChosen] = useState(0)
  const wanted = expected[chosen] ?? null
  const hasRecorded = traceId !== null
  const hasOutput = outcome !== null && outcome !== 'error'
  return (
    <>
      <div className={classes.columns}>
        <ItemValue title="Input" value={input} maxHeight="14rem" />
        {Object.keys(state).length > 0 && <ItemValue title="State" value={state} maxHeight="14rem" />}
      </div>
      <div className={classes.columns}>
        <ItemValue
          title="Expected"
          value={wanted}
          control={<ExpectedSelect count={expected.length} value={chosen} onChange={setChosen} />}
        />
        {hasRecorded && <ItemValue title="Recorded" value={recordedOutput} before={wanted} />}
        {hasOutput ? (
          <ItemValue title="Candidate" value={output} before={wanted} />
        ) : (
          <Text size="sm" c="dimmed">
            {outcome === null ? 'No result yet.' : 'The candidate has no output.'}
          </Text>
        )}
      </div>
      <Facts item={item} />
    </>
  )
}

/** Where the candidate's output differs from the expected output, and facts about the item. */
function Facts({ item: { spanId, traceId, difference, share: agreed, split, truncated } }: { item: ExperimentItem }) {
  const project = useProject()
  return (
    <Group gap="xs" fz="xs" c="dimmed">
      {difference.length > 0 && (
        <span>
          {difference.some(({ path }) => path === '') ? (
            'The whole output differs'
          ) : (
            <>
              Differs in{' '}
              {difference.map(({ path }, index) => (
                <span key={path}>
                  {index > 0 && ', '}
                  <Code>
                    <ShownText text={path} />
                  </Code>
                </span>
              ))}
            </>
          )}
          {agreed !== null && agreed > 0 && `; ${share(agreed, 1)} of the fields agree`}
        </span>
      )}
      <span>Split {split}</span>
      {traceId !== null && spanId !== null && (
        <TextLink href={pathWith(`/traces/${traceId}`, { project, span: spanId })} underline="always">
          Open in its trace
        </TextLink>
      )}
      {truncated.length > 0 && <span>Too large to show in full: {truncated.join(', ')}</span>}
    </Group>
  )
}
