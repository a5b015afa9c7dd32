const draw = ({text}) => [node('p', {class: 'introduction'}, text)];
