import { pathWith } from '../api/client.ts'
import type { AttributionQuality } from '../api/wire.ts'
import { Section } from '../insights/section.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { counted, share } from '../parts/format.ts'
import { StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import type { pathsTo } from './filters.ts'
import { intervalName } from './interval.ts'

interface TableProps {
  quality: AttributionQuality
  /** The names of the project's error types. */
  typeNames: ReadonlyMap<string, string>
  pathTo: ReturnType<typeof pathsTo>
}

/** How often reviewers agree with each version of each engine. */
export const ByEngine = ({ quality, pathTo, project, days }: TableProps & { project: string; days: number }) => (
  <Section
    title="By engine version"
    description="Each trace counts once, with its latest answer. Select a version to see only its answers."
  >
    <StackedTable
      label="Agreement by engine version"
      rows={quality.engines}
      keyOf={({ engine, version }) => `${version}/${engine}`}
      columns={[
        {
          label: 'Engine',
          cell: ({ engine, version }) => (
            <TextLink href={pathWith('/attribution', { project, days, engine, engineVersion: version })}>
              <ShownText text={engine} />, version <ShownText text={version} />
            </TextLink>
          ),
        },
        ...agreementColumns<AttributionQuality['engines'][number]>(
          ({ reviewed }) => reviewed,
          ({ engine, version }, agrees) =>
            pathTo({ engine, engineVersion: version, ...(agrees && { agrees: 'true' }) }),
        ),
      ]}
    />
  </Section>
)

/** How often reviewers agree with each of the engine's error types, and what they chose instead. */
export const ByErrorType = ({ quality, typeNames, pathTo }: TableProps) => {
  const typeName = (errorType: string) => typeNames.get(errorType) ?? errorType
  return (
    <Section
      title="By error type"
      description="The engine's answers, and the error types that reviewers chose instead."
    >
      <StackedTable
        label="Agreement by error type"
        rows={quality.errorTypes}
        keyOf={({ errorType }) => errorType}
        columns={[
          { label: "Engine's answer", cell: ({ errorType }) => <ShownText text={typeName(errorType)} /> },
          ...agreementColumns<AttributionQuality['errorTypes'][number]>(
            ({ answered }) => answered,
            ({ errorType }, agrees) => pathTo({ errorType, ...(agrees && { agrees: 'true' }) }),
          ),
          {
            label: 'Reviewers chose instead',
            width: '35%',
            cell: ({ errorType, overruled }) =>
              overruled.length === 0
                ? '–'
                : overruled.map(({ errorType: named, count: times }, index) => (
                    <span key={named}>
                      {index > 0 && ', '}
                      <ShownText text={typeName(named)} />{' '}
                      <Counted
                        value={times}
                        path={pathTo({ errorType, reviewedErrorType: named })}
                        label={`${counted(times, `${typeName(errorType)} answer`)} that reviewers changed to ${typeName(named)}`}
                      />
                    </span>
                  )),
          },
        ]}
      />
    </Section>
  )
}

interface Agreeing {
  agreed: number
  interval: { low: number; high: number }
}

/** The columns for the number of answers that agree, and for their share with its interval. */
export function agreementColumns<Row extends Agreeing>(
  total: (row: Row) => number,
  pathOf: (row: Row, isAgreed: boolean) => string,
) {
  return [
    {
      label: 'Agreed',
      isNarrow: true,
      cell: (row: Row) => (
        <>
          <Counted
            value={row.agreed}
            path={pathOf(row, true)}
            label={`${counted(row.agreed, 'answer')} in agreement`}
          />{' '}
          of <Counted value={total(row)} path={pathOf(row, false)} label={counted(total(row), 'answer')} />
        </>
      ),
    },
    {
      label: 'Share (95% interval)',
      isNarrow: true,
      cell: (row: Row) => `${share(row.agreed, total(row))} (${intervalName(row.interval)})`,
    },
  ]
}
