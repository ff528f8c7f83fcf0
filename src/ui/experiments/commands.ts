import type { ExperimentReport } from '../api/wire.ts'
import { curlOf } from '../parts/curl.ts'

export const LANGUAGES = ['TypeScript', 'Python', 'curl'] as const
export type Language = (typeof LANGUAGES)[number]

type Run = Pick<ExperimentReport, 'id' | 'stepId' | 'promptVersionId'>

/** The code that runs an experiment, by language. It reads the key from the environment. */
export const commandsOf = (run: Run, baseUrl: string): Readonly<Record<Language, string>> => ({
  TypeScript: typeScriptOf(run, baseUrl),
  Python: pythonOf(run, baseUrl),
  curl: curlsOf(run),
})

const typeScriptOf = ({ id, stepId, promptVersionId }: Run, baseUrl: string): string =>
  [
    "import { Countersign } from 'countersign/client'",
    "import { runStep } from './your-pipeline.ts'",
    '',
    'const countersign = new Countersign({',
    `  baseUrl: ${JSON.stringify(baseUrl)},`,
    "  apiKey: process.env.COUNTERSIGN_KEY ?? '',",
    '})',
    'await countersign.experiment(',
    '  {',
    `    step: ${JSON.stringify(stepId)},`,
    ...(promptVersionId === null ? [] : [`    promptVersionId: ${JSON.stringify(promptVersionId)},`]),
    `    id: ${JSON.stringify(id)},`,
    '  },',
    '  ({ input, state }) => runStep(input, state),',
    ')',
  ].join('\n')

const pythonOf = ({ id }: Run, baseUrl: string): string =>
  `import json, os, urllib.request
from your_pipeline import run_step

EXPERIMENT = "${baseUrl}/api/experiments/${id}"

def call(path, body=None):
    request = urllib.request.Request(
        EXPERIMENT + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": "Bearer " + os.environ["COUNTERSIGN_KEY"],
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)

cursor = ""
while cursor is not None:
    page = call("/items?pending=true&limit=20" + (f"&cursor={cursor}" if cursor else ""))
    results = [
        {"itemId": item["id"], "output": run_step(item["input"], item["state"])}
        for item in page["items"]
    ]
    if results:
        print(call("/results", {"results": results}))
    cursor = page["nextCursor"]`

const curlsOf = ({ id }: Run): string =>
  [
    '# List the items that have no result yet',
    curlOf(`/api/experiments/${id}/items?pending=true`),
    '',
    "# Send your step's output for one of them",
    curlOf(`/api/experiments/${id}/results`, {
      method: 'POST',
      body: { results: [{ itemId: '<id>', output: '<output>' }] },
    }),
  ].join('\n')
