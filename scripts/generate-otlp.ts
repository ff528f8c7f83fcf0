import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

/*
 * Writes src/otlp/proto/messages.js and .d.ts from the .proto files beside them, which are those of
 * github.com/open-telemetry/opentelemetry-proto at ac2c4b5, after 1.11.0. To run after they changed: `npm run generate:otlp`.
 */

const FOLDER = 'src/otlp/proto'
const FILES = ['trace/v1/trace.proto', 'logs/v1/logs.proto'].map(file => `opentelemetry/proto/${file}`)
const OPTIONS = [
  ...['--target', 'static-module', '--wrap', 'esm', '--root', 'otlp', '--path', FOLDER],
  ...['--dependency', 'protobufjs/minimal.js'],
  ...['encode', 'create', 'verify', 'convert', 'delimited', 'service', 'typeurl'].map(part => `--no-${part}`),
]

/** Of a package that is needed here alone, and larger than all that the service needs. */
const run = (program: 'pbjs' | 'pbts', options: readonly string[], input?: string): string =>
  execFileSync('npx', ['--yes', '--package', 'protobufjs-cli@2.7.1', program, ...options], {
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'inherit'],
  })

/**
 * As a plain property, an AnyValue's `value` names the field that came last, which is the one that counts. The module makes
 * it an accessor that deletes the seven other fields at each value: a quarter of the time of decoding.
 */
function withoutAccessor(module: string): string {
  const accessor = /\n *let \$oneOfFields;\n\n *\$Object\.defineProperty\(AnyValue\.prototype, "value", \{[^}]*\}\);\n/
  if (!accessor.test(module)) throw new Error('the accessor of AnyValue.value is not where it was')
  return module.replace(accessor, '')
}

// The types are made of the comments, which the module does without.
const types = run('pbts', ['--no-comments', '-'], run('pbjs', [...OPTIONS, ...FILES]))
writeFileSync(`${FOLDER}/messages.d.ts`, types)
writeFileSync(`${FOLDER}/messages.js`, withoutAccessor(run('pbjs', [...OPTIONS, '--no-comments', ...FILES])))
