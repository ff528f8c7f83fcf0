import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, it, onTestFinished } from 'vitest'
import { readCases } from '../../bench/attribution/cases.ts'
import { calibrationError, calibrationOf, confusionOf, type Judged, scoresOf } from '../../bench/attribution/scores.ts'

const BENCH = resolve(import.meta.dirname, '../../bench/attribution')

/** A file of cases next to this test, with one JSON object per line. */
async function fileOf(lines: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'cases-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, 'cases.jsonl')
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}

const shippedLines = async (name: string) =>
  (await readFile(resolve(BENCH, `cases/${name}.jsonl`), 'utf8')).trimEnd().split('\n')

const run = (...flags: string[]) => promisify(execFile)(process.execPath, [resolve(BENCH, 'index.ts'), ...flags])

describe('npm run bench:attribution', () => {
  it('posts the cases of a file and prints the share of correct answers', async ({ expect }) => {
    const lines = (await shippedLines('tuned')).slice(0, 2)
    const { stdout } = await run('--cases', await fileOf(lines))
    expect(stdout).toMatch(/^tuned: 2 cases, answered by rules$/m)
    expect(stdout).toMatch(/^ {2}category [\d.]{4} {3}type [\d.]{4} \(macro-F1 [\d.]{4}\) {3}span [\d.]{4}$/m)
    for (const line of lines) {
      const { expected } = JSON.parse(line)
      expect(stdout).toMatch(new RegExp(`^  ${expected.error_type} +[a-z_]+ \\d`, 'm'))
    }
    expect(stdout).toMatch(/confidence {3}answers {3}mean {3}right {3}\(expected calibration error \d\.\d\d\)/)
    expect(stdout).toMatch(/^ {2}0\.\d to [01]\.\d +[12] +0\.\d\d +[01]\.\d\d$/m)
  })

  it('prints a single JSON document with --json, with a report for each split', async ({ expect }) => {
    const [tuned = ''] = await shippedLines('tuned')
    const [heldOut = ''] = await shippedLines('held-out')
    const { stdout } = await run('--json', await fileOf([tuned, heldOut]))
    expect(JSON.parse(stdout)).toMatchObject([
      { split: 'tuned', scores: { cases: 1 }, calibration: [{ count: 1 }] },
      { split: 'held-out', scores: { cases: 1 }, confusion: [{ expected: JSON.parse(heldOut).expected.error_type }] },
    ])
  })

  it('reports the number of an invalid line in the file', async ({ expect }) => {
    const [tuned = ''] = await shippedLines('tuned')
    const broken = JSON.stringify({ ...JSON.parse(tuned), expected: { error_type: 'x' } })
    await expect(readCases(await fileOf([tuned, broken]))).rejects.toThrow(/line 2: expected\.error_type_category/)
  })

  it.for([
    ['tuned', 2],
    ['held-out', 1],
  ] as const)('includes distinct cases of every type: %s', async ([split, atLeast], { expect }) => {
    const cases = await readCases(resolve(BENCH, `cases/${split}.jsonl`))
    expect(new Set(cases.map(each => each.split))).toEqual(new Set([split]))
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length)
    const counts = Map.groupBy(cases, ({ expected }) => expected.error_type)
    expect(counts.size).toBe(18)
    for (const [type, own] of counts) expect(own.length, type).toBeGreaterThanOrEqual(atLeast)
  })
})

/** A case with its type and step, and the answer with its confidence. */
function judged(expected: [type: string, span: string | null], answered: typeof expected, confidence: number): Judged {
  const categoryOf = (type: string) => (type.startsWith('ai') ? 'AI Error' : 'Human Error')
  return {
    labeled: {
      id: 'one',
      split: 'dev',
      expected: { error_type: expected[0], error_type_category: categoryOf(expected[0]), span: expected[1] },
      why: '',
      prompts: [],
      knowledgeDocs: [],
      events: [],
      reviews: [],
    },
    answer: {
      errorType: answered[0],
      category: categoryOf(answered[0]),
      confidence,
      span: answered[1],
      engine: 'rules',
      durationMs: 1,
    },
  }
}

describe('scores', () => {
  const MIXED = [
    judged(['ai_one', 'plan'], ['ai_one', 'plan'], 0.9),
    judged(['ai_one', 'plan'], ['ai_one', 'write'], 0.95),
    judged(['ai_one', null], ['ai_two', null], 0.4),
    judged(['human', 'plan'], ['ai_one', 'plan'], 0.42),
    judged(['human', null], ['human', null], 1),
  ]

  it('are the shares of correct answers', ({ expect }) => {
    // ai_one has 2 right of 3 expected and 3 answered (4/6), and human has 1 right of 2 expected and 1 answered (2/3).
    const { macroF1, ...shares } = scoresOf(MIXED)
    expect(shares).toEqual({ cases: 5, category: 0.8, type: 0.6, span: 0.8 })
    expect(macroF1).toBeCloseTo((4 / 6 + 2 / 3) / 2)
  })

  it('have a lower mean over all types if a type is never answered', ({ expect }) => {
    const { macroF1, type } = scoresOf([
      judged(['ai_one', null], ['ai_one', null], 1),
      judged(['ai_one', null], ['ai_one', null], 1),
      judged(['ai_one', null], ['ai_one', null], 1),
      judged(['human', null], ['ai_one', null], 1),
    ])
    expect(type).toBe(0.75)
    // The scores are 6/7 and 0.
    expect(macroF1).toBeCloseTo(3 / 7)
  })

  it('include the mean confidence and the number of correct answers for each tenth of confidence', ({ expect }) => {
    const [low, high, ...others] = calibrationOf(MIXED)
    expect(others).toEqual([])
    expect(low).toMatchObject({ from: 0.4, count: 2, right: 0 })
    expect(low?.confidence).toBeCloseTo(0.41)
    // The last tenth includes confidence 1.
    expect(high).toMatchObject({ from: 0.9, count: 3, right: 1 })
    expect(high?.confidence).toBeCloseTo(0.95)
    // The error is 2/5 of 0.41 plus 3/5 of 0.05.
    expect(calibrationError(MIXED)).toBeCloseTo(0.194)
  })

  it('list the answers for each type, most frequent first', ({ expect }) => {
    expect(confusionOf(MIXED).map(({ expected, answered }) => [expected, ...Object.entries(answered)])).toEqual([
      ['ai_one', ['ai_one', 2], ['ai_two', 1]],
      ['human', ['ai_one', 1], ['human', 1]],
    ])
  })
})
