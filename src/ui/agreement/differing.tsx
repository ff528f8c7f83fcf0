import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { pathWith } from '../api/client.ts'
import type { Agreement } from '../api/wire.ts'
import { Section } from '../insights/section.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { TextLink } from '../parts/text-link.tsx'
import classes from './agreement.module.css'
import { GuidelineButton } from './guideline-button.tsx'
import { Votes } from './judgment.tsx'

interface DifferingProps {
  agreement: Agreement
  project: string
  nameOf: (userId: string) => string
}

/** The number of outputs shown at first. */
const FIRST = 5

/** The outputs that reviewers disagree on most, each with a button for the guideline that could settle the question. */
export function Differing({ agreement: { differing }, project, nameOf }: DifferingProps) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? differing : differing.slice(0, FIRST)
  return (
    <Section
      title="Where reviewers disagree most"
      description="First votes side by side. If people disagree because the guideline is unclear, clarify it."
    >
      <ul className={classes.outputs}>
        {shown.map(output => (
          <li key={`${output.spanId} ${output.firstVoteAt}`} className={classes.output}>
            <Group justify="space-between" gap="xs">
              <TextLink
                href={pathWith(`/traces/${output.traceId}`, { project, span: output.spanId })}
                underline="always"
              >
                <span dir="auto">
                  <ShownText text={output.stepId} />
                </span>
                , <Moment at={output.firstVoteAt} />
              </TextLink>
              <GuidelineButton stepId={output.stepId} />
            </Group>
            <Votes output={output} nameOf={nameOf} />
          </li>
        ))}
      </ul>
      {differing.length > shown.length && (
        <div>
          <Button variant="default" size="xs" onClick={() => setWhole(true)}>
            Show {differing.length} outputs
          </Button>
        </div>
      )}
    </Section>
  )
}
