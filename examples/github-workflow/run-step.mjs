/**
 * Runs one item of an experiment: gives a model the step's prompt and the input. Replace it with your own step, so that
 * the experiment runs the same code as production.
 *
 *     echo '"Where is my parcel?"' | node run-step.mjs sort-ticket
 */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'

const { MODEL_URL, MODEL_KEY, MODEL = 'gpt-4.1-mini' } = process.env
const [step] = process.argv.slice(2)
const input = await text(process.stdin)
const file = await readFile(`prompts/${step}.md`, 'utf8')
// The prompt is everything after the front matter.
const prompt = file.replace(/^---\n(.*\n)*?---\n/, '')

const response = await fetch(`${MODEL_URL}/chat/completions`, {
  method: 'POST',
  headers: { authorization: `Bearer ${MODEL_KEY}`, 'content-type': 'application/json' },
  body: JSON.stringify({
    model: MODEL,
    messages: [
      { role: 'system', content: prompt },
      { role: 'user', content: input },
    ],
  }),
})
// A nonzero exit code records an error with this message for the item.
if (!response.ok) throw new Error(`The model returned ${response.status}: ${await response.text()}`)
const { choices } = await response.json()
console.log(choices[0].message.content)
