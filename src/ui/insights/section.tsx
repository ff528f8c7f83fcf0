import { Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { type PropsWithChildren, type ReactNode, useId, useState } from 'react'
import classes from './insights.module.css'

interface SectionProps {
  /** For links to the section. */
  id?: string
  title: string
  description: ReactNode
  controls?: ReactNode
}

/** A titled section of the page. */
export function Section({ id, title, description, controls, children }: PropsWithChildren<SectionProps>) {
  const titleId = useId()
  return (
    <Stack component="section" gap="xs" id={id} aria-labelledby={titleId}>
      <Group justify="space-between" align="end" gap="xs">
        <div>
          <Title order={2} id={titleId}>
            {title}
          </Title>
          <Text size="xs" c="dimmed">
            {description}
          </Text>
        </div>
        {controls}
      </Group>
      {children}
    </Stack>
  )
}

interface ChartSectionProps extends Omit<SectionProps, 'controls'> {
  chart: ReactNode
  /** The chart's numbers as a table. */
  table: () => ReactNode
}

/** A section with a chart, or with a table of the chart's numbers. */
export function ChartSection({ chart, table, ...props }: ChartSectionProps) {
  const [isTable, setTable] = useState(false)
  return (
    <Section
      {...props}
      controls={
        <SegmentedControl
          size="xs"
          aria-label={`${props.title} view`}
          value={isTable ? 'table' : 'chart'}
          onChange={value => setTable(value === 'table')}
          data={[
            { value: 'chart', label: 'Chart' },
            { value: 'table', label: 'Table' },
          ]}
        />
      }
    >
      {isTable ? table() : chart}
    </Section>
  )
}

/** A table in a scrolling box. */
export const ScrolledTable = ({ label, children }: PropsWithChildren<{ label: string }>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
  <section className={classes.scroll} tabIndex={0} aria-label={label}>
    {children}
  </section>
)
