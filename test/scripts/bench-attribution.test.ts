import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, it, onTestFinished } from 'vitest'
import { readCases } from '../../bench/attribution/cases.ts'
import { startProvider } from '../../bench/attribution/provider.ts'
import { binsOf, calibrationError, confusionOf, type Judged, scoresOf, sureOf } from '../../bench/attribution/scores.ts'

const BENCH = resolve(import.meta.dirname, '../../bench/attribution')

/** Creates a temporary file of cases, with one JSON object per line. */
async function fileOf(lines: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'cases-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, 'cases.jsonl')
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}

const shippedLines = async (name: string) =>
  (await readFile(resolve(BENCH, `cases/${name}.jsonl`), 'utf8')).trimEnd().split('\n')

const PROGRAM = resolve(BENCH, 'index.ts')
const run = (...flags: string[]) => promisify(execFile)(process.execPath, [PROGRAM, ...flags])

describe('npm run bench:attribution', () => {
  it('posts the cases in a file and prints the share of correct answers', async ({ expect }) => {
    const lines = (await shippedLines('tuned')).slice(0, 2)
    const { stdout } = await run('--cases', await fileOf(lines))
    expect(stdout).toMatch(/^tuned: 2 cases, answered by rules$/m)
    for (const name of ['category', 'type', 'span']) {
      expect(stdout).toMatch(new RegExp(`^  ${name} +\\S{4} \\(\\d of 2; 95% interval \\S{4} to \\S{4}\\)$`, 'm'))
    }
    expect(stdout).toMatch(/^ {2}macro-F1 {2}[\d.]{4}$/m)
    expect(stdout).toMatch(/^ {2}confidence above 0\.8: [\d.]{4} of the answers, right /m)
    for (const line of lines) {
      const { expected } = JSON.parse(line)
      expect(stdout).toMatch(new RegExp(`^  ${expected.error_type} +[a-z_]+ \\d`, 'm'))
    }
    expect(stdout).toMatch(/confidence {5}answers {3}mean {3}right {3}\(expected calibration error \d\.\d\d\)/)
    expect(stdout).toMatch(/^ {2}0\.\d\d to 0\.\d\d +1 +0\.\d\d +[01]\.00 \([01] of 1; 95% interval \S{4} to \S{4}\)$/m)
  })

  it('writes the questions for a model to files, and reads the answers as the engine does to score them', async ({
    expect,
  }) => {
    const cases = await readCases(resolve(BENCH, 'cases/tuned.jsonl'))
    const withSteps = cases.filter(({ expected }) => expected.span !== null).slice(0, 4)
    const file = await fileOf(withSteps.map(each => JSON.stringify(each)))
    const [right, unquoted, unknown, unanswered] = withSteps.map(({ id }) => id)
    const directory = await mkdtemp(join(tmpdir(), 'questions-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    await run('--questions', directory, file)
    expect((await readdir(directory)).sort()).toEqual(withSteps.map(({ id }) => `${id}.txt`).sort())
    const question = await readFile(join(directory, `${right}.txt`), 'utf8')
    expect(question).toMatch(/^You find the root cause/)
    const lines = question.split('\n').flatMap(line => (line.startsWith('{') ? [JSON.parse(line)] : []))
    const { expected } = withSteps[0] ?? {}
    const step = lines.find(({ kind, step_id }) => kind === 'step' && step_id === expected?.span)
    const answer = {
      quotes: [],
      reasoning: 'The step went wrong.',
      error_type: expected?.error_type,
      confidence: 0.9,
      span_id: step?.span_id,
      alternatives: [],
    }
    const write = (id = '', fields: object) => writeFile(join(directory, `${id}.json`), JSON.stringify(fields))
    await write(right, answer)
    await write(unquoted, { ...answer, quotes: [{ span_id: null, path: 'input', quote: 'in no trace at all' }] })
    await write(unknown, { ...answer, span_id: 'elsewhere' })
    const { stdout } = await run('--json', '--answers', directory, file)
    const invalid = "The model's answer was invalid twice: "
    expect(JSON.parse(stdout)).toMatchObject([
      {
        scores: { cases: 1, type: { right: 1 }, span: { right: 1 } },
        sure: { right: 1, of: 1 },
        faults: [
          { id: unquoted, fault: `${invalid}none of the quotes was found in the material` },
          { id: unknown, fault: `${invalid}span_id is not one of the trace's spans` },
          { id: unanswered, fault: 'there is no answer' },
        ],
      },
    ])
  })

  it('asks the configured model with --engine model, and prints a report for each split with --json', async ({
    expect,
  }) => {
    let asked = 0
    await using provider = await startProvider(async () => {
      asked++
      const answer = { quotes: [], reasoning: 'It is so.', confidence: 0.7, span_id: null, alternatives: [] }
      return JSON.stringify({ ...answer, error_type: 'reasoning_error' })
    })
    const [tuned = ''] = await shippedLines('tuned')
    const [heldOut = ''] = await shippedLines('held-out')
    const file = await fileOf([tuned, heldOut])
    const env = { ...process.env, ...provider.variables, ATTRIBUTION_MODEL: 'openai/measured' }
    const flags = ['--engine', 'model', '--json']
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...flags, file], { env })
    expect(asked).toBe(2)
    const confusion = [{ expected: JSON.parse(heldOut).expected.error_type, answered: { reasoning_error: 1 } }]
    expect(JSON.parse(stdout)).toMatchObject([
      { split: 'tuned', engines: ['openai/measured'], scores: { cases: 1 }, bins: [{ of: 1 }], faults: [] },
      { split: 'held-out', scores: { cases: 1 }, confusion },
    ])
  })

  it.for([
    [['--engine', 'model'], {}, 'needs ATTRIBUTION_MODEL'],
    [['--engine', 'model'], { ATTRIBUTION_MODEL: 'workers-ai/@cf/x/y' }, 'only works in a deployed Worker'],
    [['--engine', 'magic'], {}, '--engine must be rules or model'],
    [['--questions', 'a', '--answers', 'b'], {}, 'not both'],
  ] as const)('rejects %o with %o', async ([given, variables, message], { expect }) => {
    const { ATTRIBUTION_MODEL: _, ...inherited } = process.env
    const running = promisify(execFile)(process.execPath, [PROGRAM, ...given], { env: { ...inherited, ...variables } })
    await expect(running).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(message) })
  })

  it('reports the line number of an invalid line in the file', async ({ expect }) => {
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

/** Creates a case with its expected type and step, and an answer with its confidence. */
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
    // ai_one is expected 3 times, answered 3 times, and right 2 times, so its F1 score is 4/6. human is expected 2
    // times, answered once, and right once, so its F1 score is 2/3.
    const { macroF1, ...shares } = scoresOf(MIXED)
    expect(shares).toMatchObject({
      cases: 5,
      category: { share: 0.8 },
      type: { share: 0.6 },
      span: { right: 4, of: 5 },
    })
    expect(macroF1).toBeCloseTo((4 / 6 + 2 / 3) / 2)
  })

  it('have a lower mean over all types if one type is never the answer', ({ expect }) => {
    const { macroF1, type } = scoresOf([
      judged(['ai_one', null], ['ai_one', null], 1),
      judged(['ai_one', null], ['ai_one', null], 1),
      judged(['ai_one', null], ['ai_one', null], 1),
      judged(['human', null], ['ai_one', null], 1),
    ])
    expect(type.share).toBe(0.75)
    // The F1 scores are 6/7 and 0.
    expect(macroF1).toBeCloseTo(3 / 7)
  })

  it('include three confidence bins of similar size, each with its mean, its right answers, and their interval', ({
    expect,
  }) => {
    const bins = binsOf(MIXED)
    expect(bins).toMatchObject([
      { from: 0.4, to: 0.42, of: 2, right: 0, share: 0, interval: { low: 0 } },
      { from: 0.9, to: 0.9, of: 1, right: 1, share: 1, interval: { high: 1 } },
      { from: 0.95, to: 1, of: 2, right: 2, share: 1, interval: { high: 1 } },
    ])
    // Wilson's bound for 0 of 2 is z² / (2 + z²).
    expect(bins[0]?.interval?.high).toBeCloseTo(0.6576)
    expect(bins.map(({ confidence }) => confidence)).toEqual([expect.closeTo(0.41), 0.9, expect.closeTo(0.975)])
    // The error is 2/5 of 0.41, plus 1/5 of 0.1, plus 2/5 of 0.025.
    expect(calibrationError(MIXED)).toBeCloseTo(0.194)
    expect(binsOf(MIXED.slice(0, 2))).toHaveLength(2)
    expect(binsOf([])).toEqual([])
  })

  it('include the share of right answers among those with a confidence above 0.8', ({ expect }) => {
    const wrong = judged(['human', null], ['ai_one', null], 0.81)
    expect(sureOf([...MIXED, wrong, judged(['human', null], ['ai_one', null], 0.8)])).toMatchObject({ right: 3, of: 4 })
    expect(sureOf([])).toMatchObject({ of: 0, interval: null })
  })

  it('list the answers for each type, most frequent first', ({ expect }) => {
    expect(confusionOf(MIXED).map(({ expected, answered }) => [expected, ...Object.entries(answered)])).toEqual([
      ['ai_one', ['ai_one', 2], ['ai_two', 1]],
      ['human', ['ai_one', 1], ['human', 1]],
    ])
  })
})
