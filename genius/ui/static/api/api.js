// API: what programs may call, with calls to copy.
import {copyButton, node, replace, scrollRegion, tableOf} from '../page/nodes.js';

const root = document.baseURI.split('?')[0].replace(/\/$/, '');
const snippet = (label, text, endpoint = '') => {
  const what = `${label}${endpoint && ` for ${endpoint}`}`, code = node('pre', {tabindex: '0', 'aria-label': what}, text);
  return node('div', {class: 'snippet'}, node('p', {class: 'label'}, label), copyButton(code, what), code);
};
const call = ({name, arguments: named}) => `client.predict(${Object.entries(named).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(', ')}, api_name="/${name}")`;
const quoted = text => `'${text.replaceAll("'", "'\\''")}'`;
const curl = ({name, in_order}) => `curl -s ${root}/gradio_api/call/${name} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify({data: in_order}))} \\
  | cut -d'"' -f4 | xargs -I@ \\
  curl -sN ${root}/gradio_api/call/${name}/@`;
const parameter = ({name, type, default: defaultValue, meaning}) => node('tr', {},
  node('td', {}, node('code', {}, name)), node('td', {}, type), node('td', {}, defaultValue), node('td', {class: 'describes'}, meaning));
const endpoint = data => node('section', {class: 'endpoint box'}, node('h2', {}, node('code', {}, `/${data.name}`)),
  node('p', {}, data.summary), ...data.details ? [node('p', {class: 'label'}, data.details)] : [],
  scrollRegion(`Parameters of ${data.name}`, 'scroll', tableOf(['parameter', 'type', 'default', 'meaning'], data.parameters.map(parameter))),
  snippet('Python', call(data), data.name), snippet('Shell', curl(data), data.name));
const begin = () => node('section', {class: 'begin box'}, node('h2', {}, 'For programs'),
  node('p', {}, 'What this page computes, a program can ask for, too, each at an address of its own (an endpoint). '
    + 'Requests and responses are JSON, a text format for data; an error is one sentence.'),
  snippet('Python, once: pip install gradio_client', `from gradio_client import Client, handle_file

client = Client("${root}")    # headers={"Authorization": "Basic …"} if the page requires a login
client.predict(text="similar pictures", picture=handle_file("photo.jpg"), api_name="/search")`),
  node('p', {class: 'label'}, 'You can also share the address of the page: it contains the tab and the text of the last search, the item or the code pattern. '
    + 'An uploaded picture is not included.'));

export const mount = (panel, page) => {
  const made = node('div', {id: 'api'});
  panel.append(made);
  return {
    async update() {
      if (!made.children.length) replace(made, [node('article', {class: 'api'}, begin(), ...(await page.get('api')).map(endpoint))]);
    },
  };
};
